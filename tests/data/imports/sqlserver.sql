create table dbo.Customers(Id int not null primary key, Name nvarchar(80) not null, Email varchar(120), Balance decimal(12,2), Since datetime2(3));
create table dbo.orders_1(Id int not null primary key, CustomerId int not null, Amount decimal(18,4));
create table dbo.orders_2(Id int not null primary key, CustomerId int not null, Amount decimal(18,4));
create table dbo.orders_old(Id int not null primary key, CustomerId int not null, Amount decimal(18,4));
create table dbo.signals(id varchar(42) not null primary key, type varchar(32) not null, data varchar(2048));
